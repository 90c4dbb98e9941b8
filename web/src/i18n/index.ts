/** Every text of the UI, in the language of the reader. */
import { createKeptStore, useStore } from "../ui/store";
import { en } from "./en";
import { zh } from "./zh";

export type Key = keyof typeof en;
export type Dictionary = Record<Key, string>;
export type Params = Record<string, string | number>;
export type T = (key: Key, params?: Params) => string;

export const languages = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof languages;

const dictionaries: Record<Language, Dictionary> = { en, zh };

function isLanguage(found: unknown): found is Language {
  return typeof found === "string" && found in languages;
}

function preferred(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = createKeptStore<Language>(localStorage, "trl.language", preferred(), isLanguage);

/** `{name}` in a text stands for the parameter of that name. */
export function fill(text: string, params: Params): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
}

export function translate(to: Language, key: Key, params: Params = {}): string {
  return fill(dictionaries[to][key], params);
}

export const t: T = (key, params) => translate(language.get(), key, params);

/** As [`t`], for components: they are drawn anew in another language. */
export function useT(): T {
  const now = useStore(language);
  return (key, params) => translate(now, key, params);
}
