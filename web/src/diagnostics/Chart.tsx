import type { JSX } from "react";
import { line, latest, top, type Point } from "./samples";

export interface Series {
  /** Said when there is more than one. */
  name?: string;
  points: readonly Point[];
}

const SIZE = { width: 240, height: 56 } as const;

/** A figure over the last minutes, up to now: its lines, what it is now, and the top of the chart. */
export function Chart({
  title,
  series,
  now,
  span,
  show,
}: {
  title: string;
  series: readonly Series[];
  now: number;
  span: number;
  show: (value: number) => string;
}): JSX.Element {
  const most = top(series.map(({ points }) => points));
  const box = { ...SIZE, now, span, most };
  const isKnown = series.some(({ points }) => points.some(({ value }) => value !== null));
  const said = (points: readonly Point[]) => {
    const value = latest(points);
    return value === null ? "–" : show(value);
  };
  return (
    <figure className="card chart">
      <figcaption>
        <span className="muted">{title}</span>
        <span className="chart-now">
          {series.map(({ name, points }, at) => (
            <span key={at} className={`series-${at}`}>
              {name !== undefined && <span className="muted">{name} </span>}
              <strong>{said(points)}</strong>
            </span>
          ))}
        </span>
      </figcaption>
      <div className="chart-box">
        <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} preserveAspectRatio="none" aria-hidden="true">
          <path className="grid" d={`M0 0H${SIZE.width}M0 ${SIZE.height / 2}H${SIZE.width}`} />
          {series.map(({ points }, at) => (
            <path key={at} className={`series-${at}`} d={line(points, box)} />
          ))}
        </svg>
        {isKnown && (
          <span className="chart-top muted" aria-hidden="true">
            {show(most)}
          </span>
        )}
      </div>
    </figure>
  );
}
