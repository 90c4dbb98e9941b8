/** The words of the tabs' own buttons and menus. */
import { useMemo } from "react";
import { I18nLabel } from "flexlayout-react";
import { language, translate, type Key } from "../i18n";
import { useStore } from "../ui/store";

const known: Partial<Record<string, Key>> = {
  [I18nLabel.Close_Tab]: "tabs.close",
  [I18nLabel.Close_Tabset]: "tabs.closeSet",
  [I18nLabel.Maximize]: "tabs.maximize",
  [I18nLabel.Restore]: "tabs.restore",
  [I18nLabel.Rename_Tab]: "tabs.rename",
  [I18nLabel.Overflow_Menu_Tooltip]: "tabs.more",
  [I18nLabel.Splitter]: "tabs.splitter",
  [I18nLabel.Active_Tabset]: "tabs.active",
  [I18nLabel.Move_Tabset]: "tabs.move",
  [I18nLabel.Error_rendering_component]: "tabs.failed",
  [I18nLabel.Error_rendering_component_retry]: "notice.again",
};

export function useLabels(): (key: string) => string {
  const now = useStore(language);
  return useMemo(
    () => (key: string) => {
      const ours = known[key];
      return ours === undefined ? key : translate(now, ours);
    },
    [now],
  );
}
