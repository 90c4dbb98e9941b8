import type { JSX } from "react";
import { useT } from "../i18n";
import { IconButton } from "./Button";
import { useStore } from "./store";
import { dismiss, toasts } from "./toasts";

export function Toasts(): JSX.Element {
  const t = useT();
  const shown = useStore(toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind, action }) => (
        <div key={id} className={`toast ${kind}`}>
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              className="link-button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton icon="close" label={t("toast.dismiss")} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
