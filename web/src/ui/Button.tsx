import type { ButtonHTMLAttributes, JSX, ReactNode } from "react";
import { Icon, type IconName } from "./icons";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  icon?: IconName;
  children: ReactNode;
}

export function Button({ kind = "plain", icon, children, className = "", ...rest }: Props): JSX.Element {
  return (
    <button type="button" {...rest} className={`button ${kind} ${className}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: IconName;
  /** Read aloud, and shown when pointed at. */
  label: string;
}

export function IconButton({ icon, label, className = "", ...rest }: IconProps): JSX.Element {
  return (
    <button type="button" {...rest} className={`icon-button ${className}`} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}
