/** The tabs of a workspace: how they are kept, found and changed. */
import {
  Actions,
  DockLocation,
  Model,
  TabNode,
  TabSetNode,
  type IJsonModel,
  type IJsonTabNode,
} from "flexlayout-react";
import type { Mode } from "../terminal/link";
import { oneLine } from "../ui/plain";

/** What a tab knows of its terminal. */
export interface TabConfig {
  terminalId: string | null;
  mode: Mode;
}

const GLOBAL: NonNullable<IJsonModel["global"]> = {
  tabSetEnableMaximize: true,
  tabSetEnableDeleteWhenEmpty: true,
  tabEnablePopout: false,
  tabEnableRename: true,
  tabSetMinWidth: 160,
  tabSetMinHeight: 120,
};

export function tabOf(terminalId: string | null, name: string): IJsonTabNode {
  const config: TabConfig = { terminalId, mode: "drive" };
  return { type: "tab", component: "terminal", name: oneLine(name), config };
}

export function configOf(tab: TabNode): TabConfig {
  const found = tab.getConfig() as Partial<TabConfig> | undefined;
  return { terminalId: found?.terminalId ?? null, mode: found?.mode === "view" ? "view" : "drive" };
}

const keyOf = (workspace: string) => `trl.layout.${workspace}`;

interface Tabs {
  model: Model;
  /** Nobody has looked yet which terminals the workspace has. */
  isNew: boolean;
}

/** One for each workspace while the page lives: panels go on when another page is shown, and change it. */
const known = new Map<string, Tabs>();

export function modelOf(workspace: string): Model {
  const found = known.get(workspace) ?? loadTabs(workspace);
  known.set(workspace, found);
  return found.model;
}

/** Whether somebody should look which terminals the workspace has; only the first who asks should. */
export function isFirstLook(workspace: string): boolean {
  const found = known.get(workspace);
  if (found?.isNew !== true) return false;
  known.set(workspace, { ...found, isNew: false });
  return true;
}

/** The tabs as they were left, or none. A layout that this version cannot read is as good as none. */
function loadTabs(workspace: string): Tabs {
  const text = localStorage.getItem(keyOf(workspace));
  if (text !== null) {
    try {
      const kept = JSON.parse(text) as IJsonModel;
      return { model: Model.fromJson({ ...kept, global: GLOBAL }), isNew: false };
    } catch {
      localStorage.removeItem(keyOf(workspace));
    }
  }
  const empty: IJsonModel = {
    global: GLOBAL,
    layout: { type: "row", children: [{ type: "tabset", children: [] }] },
  };
  return { model: Model.fromJson(empty), isNew: true };
}

export function saveModel(workspace: string, model: Model): void {
  try {
    localStorage.setItem(keyOf(workspace), JSON.stringify(model.toJson()));
  } catch {
    // No room: the layout lasts as long as the page.
  }
}

export function tabsOf(model: Model): TabNode[] {
  const tabs: TabNode[] = [];
  model.visitNodes((node) => {
    if (node instanceof TabNode) tabs.push(node);
  });
  return tabs;
}

/** The tab that shows this terminal. */
export function findTab(model: Model, terminalId: string): TabNode | undefined {
  return tabsOf(model).find((tab) => configOf(tab).terminalId === terminalId);
}

/** Beside the tab that is looked at, or in the given set of tabs if that is still there. */
export function addTab(model: Model, json: IJsonTabNode, beside?: string): void {
  const wanted = beside === undefined ? undefined : model.getNodeById(beside);
  const set = wanted instanceof TabSetNode ? wanted : (model.getActiveTabset() ?? model.getFirstTabSet());
  if (set !== undefined) model.doAction(Actions.addTab(json, set.getId(), DockLocation.CENTER, -1, true));
}

export function showTab(model: Model, tab: TabNode): void {
  model.doAction(Actions.selectTab(tab.getId()));
}

/** Kept at once: the page that keeps changes may not be shown. */
export function settleTab(workspace: string, model: Model, tabId: string, config: TabConfig): void {
  model.doAction(Actions.updateNodeAttributes(tabId, { config }));
  saveModel(workspace, model);
}
