/** Whether all of an element has been on the screen, at once or one part after the other. */
import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import { common, cover, firstUnseen, type Span } from "./seen";

/** In pixels: places on a screen are not whole numbers. */
const SLACK = 2;
/** What is on the screen for a shorter time was not seen: it flies by when somebody jumps to the end. */
const STAY_MS = 200;

export interface Seen {
  element: RefObject<HTMLDivElement | null>;
  /** Scrolls to what was not seen yet; true when there is nothing left. */
  goOn: () => boolean;
}

export function useSeen(): Seen {
  const element = useRef<HTMLDivElement>(null);
  const [reading] = useState(() => new Reading());
  useEffect(() => reading.watch(element.current), [reading]);
  const goOn = useCallback(() => reading.goOn(), [reading]);
  return { element, goOn };
}

/** How far somebody has read an element. */
class Reading {
  #element: HTMLElement | null = null;
  #seen: Span[] = [];
  /** What was on the screen when it was last looked at. */
  #last: Span = [0, 0];
  #timer: number | undefined;

  /** Looks whenever something moves. What it returns ends that. */
  watch(element: HTMLElement | null): () => void {
    this.#element = element;
    this.#last = spanOf(element);
    this.#soon();
    const soon = () => this.#soon();
    // Those of every element that scrolls come by while they are captured.
    const options = { capture: true, passive: true };
    document.addEventListener("scroll", soon, options);
    document.addEventListener("visibilitychange", soon);
    window.addEventListener("resize", soon);
    // Other cards come and go above this one.
    const watch = new IntersectionObserver(soon, { threshold: [0, 0.25, 0.5, 0.75, 1] });
    if (element !== null) watch.observe(element);
    return () => {
      document.removeEventListener("scroll", soon, options);
      document.removeEventListener("visibilitychange", soon);
      window.removeEventListener("resize", soon);
      watch.disconnect();
      window.clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  goOn(): boolean {
    const element = this.#element;
    if (element === null) return false;
    const { top, height } = element.getBoundingClientRect();
    const slack = SLACK / Math.max(height, SLACK);
    // All of it is in sight.
    if (firstUnseen([spanOf(element)], slack) === null) return true;
    const next = firstUnseen(this.#seen, slack);
    if (next === null) return true;
    const by = top + next * height - visibleArea(element)[0];
    scrollerOf(element).scrollBy({ top: by, behavior: "instant" });
    this.#soon();
    return false;
  }

  #soon(): void {
    this.#timer ??= window.setTimeout(() => this.#look(), STAY_MS);
  }

  #look(): void {
    this.#timer = undefined;
    const [now, before] = [spanOf(this.#element), this.#last];
    this.#last = now;
    this.#seen = cover(this.#seen, common(before, now));
    // Until it stands still.
    if (now[0] !== before[0] || now[1] !== before[1]) this.#soon();
  }
}

/** The part of an element that is on the screen. */
function spanOf(element: HTMLElement | null): Span {
  if (element === null || document.hidden) return [0, 0];
  const { top, height } = element.getBoundingClientRect();
  if (height === 0) return [0, 0];
  const [from, to] = visible(element);
  return [(from - top) / height, (to - top) / height];
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
