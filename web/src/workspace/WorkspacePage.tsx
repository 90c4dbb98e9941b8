/** The terminals of a workspace, in tabs that can be split and moved. */
import { Layout, type Model, type TabNode } from "flexlayout-react";
import "flexlayout-react/style/light.css";
import { useCallback, useEffect, useMemo, useRef, useState, type JSX } from "react";
import { go, settle } from "../app/router";
import { useT } from "../i18n";
import { Panel } from "../terminal/panel";
import { dropPanel, panelOf } from "../terminal/panels";
import { TerminalPanel } from "../terminal/TerminalPanel";
import { Button, IconButton } from "../ui/Button";
import { useStore } from "../ui/store";
import { close, isOurs } from "./closing";
import { TabName, titleOf } from "./TabName";
import { TerminalList } from "./TerminalList";
import {
  addTab,
  configOf,
  findTab,
  isFirstLook,
  modelOf,
  saveModel,
  settleTab,
  showTab,
  tabOf,
  tabsOf,
  type TabConfig,
} from "./layout";
import { terminals } from "./terminals";
import { useLabels } from "./labels";
import "./workspace.css";

export default function WorkspacePage({
  workspace,
  open,
}: {
  workspace: string;
  open: string | undefined;
}): JSX.Element {
  const t = useT();
  const labels = useLabels();
  const model = useMemo(() => modelOf(workspace), [workspace]);
  const [isListShown, setListShown] = useState(false);
  const tabs = useTabs(workspace, model);
  // Names of tabs are those of their terminals.
  useStore(terminals.state);

  useEffect(() => terminals.follow(), []);
  useFirstTabs(workspace, model);

  const show = useCallback(
    (terminalId: string, name: string) => {
      const found = findTab(model, terminalId);
      if (found === undefined) addTab(model, tabOf(terminalId, name));
      else showTab(model, found);
    },
    [model],
  );
  useEffect(() => {
    if (open === undefined) return;
    show(open, open);
    settle({ page: "workspace", workspace });
  }, [open, show, workspace]);

  const factory = (tab: TabNode) => (
    <TerminalPanel panel={panelFor(workspace, model, tab)} isActive={isActive(model, tab)} />
  );
  const openListed = (terminalId: string, name: string) => {
    show(terminalId, name);
    // on a small screen the list lies over what was chosen
    if (window.matchMedia("(max-width: 720px)").matches) setListShown(false);
  };
  const openNew = () => addTab(model, tabOf(null, t("workspace.terminal")));

  return (
    <div className="workspace">
      <h1 className="sr-only">{t("nav.workspace")}</h1>
      <div className="workspace-bar">
        <IconButton
          icon="list"
          label={t("workspace.list")}
          aria-expanded={isListShown}
          onClick={() => setListShown(!isListShown)}
        />
        <span className="workspace-name">{workspace}</span>
        <Button kind="primary" icon="plus" onClick={openNew}>
          {t("workspace.new")}
        </Button>
      </div>
      <div className="workspace-body">
        {isListShown && <TerminalList workspace={workspace} onOpen={openListed} />}
        <div className="workspace-tabs">
          <Layout
            model={model}
            factory={factory}
            onModelChange={tabs.changed}
            onRenderTab={(tab, values) => {
              values.content = <TabName tab={tab} />;
              // Read aloud. The library takes it, though its types do not say so; a browser test holds it to that.
              Object.assign(values, { name: titleOf(tab.getId(), configOf(tab).terminalId, tab.getName()) });
            }}
            onTabSetPlaceHolder={() => <Nothing onNew={openNew} />}
            i18nTranslator={labels}
            realtimeResize
          />
        </div>
      </div>
    </div>
  );
}

function Nothing({ onNew }: { onNew: () => void }): JSX.Element {
  const t = useT();
  return (
    <div className="empty">
      <h2>{t("workspace.empty")}</h2>
      <p className="muted">{t("workspace.emptyHint")}</p>
      <Button kind="primary" icon="plus" onClick={onNew}>
        {t("workspace.new")}
      </Button>
      <button type="button" className="link-button" onClick={() => go({ page: "welcome" })}>
        {t("workspace.what")}
      </button>
    </div>
  );
}

function isActive(model: Model, tab: TabNode): boolean {
  return tab.isSelected() && model.getActiveTabset() === tab.getParent();
}

function panelFor(workspace: string, model: Model, tab: TabNode): Panel {
  const id = tab.getId();
  return panelOf(id, () => {
    const { terminalId, mode } = configOf(tab);
    const place = {
      workspace,
      settled: (terminalId: string) => settleTab(workspace, model, id, { terminalId, mode }),
    };
    return new Panel(place, terminalId, mode);
  });
}

/** A workspace that was never seen here shows the terminals it has. */
function useFirstTabs(workspace: string, model: Model): void {
  useEffect(() => {
    if (!isFirstLook(workspace)) return;
    void terminals.refresh().then((list) => {
      const running = list.filter((one) => one.workspace_id === workspace && one.state === "running");
      for (const one of running) {
        if (findTab(model, one.terminal_id) === undefined)
          addTab(model, tabOf(one.terminal_id, one.name ?? one.terminal_id));
      }
    });
  }, [workspace, model]);
}

interface Known {
  config: TabConfig;
  name: string;
  set: string | undefined;
}

/** Notices tabs that are gone, and keeps the layout. */
function useTabs(workspace: string, model: Model): { changed: (model: Model) => void } {
  const known = useRef(new Map<string, Known>());
  const note = useCallback(() => {
    const now = tabsOf(model).map((tab): [string, Known] => [
      tab.getId(),
      { config: configOf(tab), name: tab.getName(), set: tab.getParent()?.getId() },
    ]);
    known.current = new Map(now);
  }, [model]);
  useEffect(note, [note]);
  const changed = useCallback(() => {
    const before = known.current;
    note();
    saveModel(workspace, model);
    for (const [id, { config, name, set }] of before) {
      if (known.current.has(id)) continue;
      const { terminalId } = config;
      const title = titleOf(id, terminalId, name);
      dropPanel(id);
      if (terminalId === null || !isOurs(workspace, terminalId)) continue;
      void close({ terminalId, name: title, restore: () => addTab(model, tabOf(terminalId, name), set) });
    }
  }, [model, note, workspace]);
  return { changed };
}
