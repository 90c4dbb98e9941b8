/** Whether all of an element has been on the screen, at once or one part after the other. */
import { useCallback, useEffect, useRef, type RefObject } from "react";
import { cover, firstUnseen, type Span } from "./seen";

/** In pixels: places on a screen are not whole numbers. */
const SLACK = 2;

export interface Seen {
  element: RefObject<HTMLDivElement | null>;
  /** Looks, and scrolls to what was not on the screen yet; true when there is nothing left. */
  goOn: () => boolean;
}

export function useSeen(): Seen {
  const element = useRef<HTMLDivElement>(null);
  const spans = useRef<Span[]>([]);
  const look = useCallback(() => {
    const found = element.current;
    if (found === null || document.hidden) return;
    const { top, height } = found.getBoundingClientRect();
    const [from, to] = visible(found);
    if (height > 0) spans.current = cover(spans.current, [(from - top) / height, (to - top) / height]);
  }, []);
  useEffect(() => {
    look();
    // Those of every element that scrolls come by while they are captured.
    const options = { capture: true, passive: true };
    document.addEventListener("scroll", look, options);
    document.addEventListener("visibilitychange", look);
    window.addEventListener("resize", look);
    // Other cards come and go above this one.
    const watch = new IntersectionObserver(look, { threshold: [0, 0.25, 0.5, 0.75, 1] });
    if (element.current !== null) watch.observe(element.current);
    return () => {
      document.removeEventListener("scroll", look, options);
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("resize", look);
      watch.disconnect();
    };
  }, [look]);
  const goOn = useCallback(() => {
    look();
    const found = element.current;
    if (found === null) return false;
    const { top, height } = found.getBoundingClientRect();
    const next = firstUnseen(spans.current, SLACK / Math.max(height, SLACK));
    if (next === null) return true;
    scrollerOf(found).scrollBy({ top: top + next * height - visibleArea(found)[0], behavior: "instant" });
    look();
    return false;
  }, [look]);
  return { element, goOn };
}

/** The part of the window in which the element is not cut off, from top to bottom. */
function visibleArea(element: HTMLElement): Span {
  let [from, to] = [0, window.innerHeight];
  for (let around = element.parentElement; around !== null; around = around.parentElement) {
    if (getComputedStyle(around).overflowY === "visible" || around === document.documentElement) continue;
    const { top, bottom } = around.getBoundingClientRect();
    [from, to] = [Math.max(from, top), Math.min(to, bottom)];
  }
  return [from, to];
}

function visible(element: HTMLElement): Span {
  const { top, bottom } = element.getBoundingClientRect();
  const [from, to] = visibleArea(element);
  return [Math.max(top, from), Math.min(bottom, to)];
}

function scrollerOf(element: HTMLElement): Element | Window {
  for (let around = element.parentElement; around !== null; around = around.parentElement) {
    const { overflowY } = getComputedStyle(around);
    if (/auto|scroll/.test(overflowY) && around.scrollHeight > around.clientHeight) return around;
  }
  return window;
}
