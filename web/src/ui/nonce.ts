/**
 * The daemon's policy takes style sheets of its own files, and those that carry the number it put into this page. xterm.js
 * makes some as it runs and knows nothing of that, so each style element gets the number when it is made.
 */
export function vouchForStyles(): void {
  const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
  if (nonce === "") return;
  // One of its forms is deprecated; all of them pass here.
  /* eslint-disable @typescript-eslint/no-deprecated */
  document.createElement = new Proxy(document.createElement.bind(document), {
    apply(make, page, args: unknown[]) {
      const element: unknown = Reflect.apply(make, page, args);
      if (element instanceof HTMLStyleElement) element.nonce = nonce;
      return element;
    },
  });
}
