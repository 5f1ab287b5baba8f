// In the place of the package's own declarations, which bring those of browsers into every file of the house: `name`, `event` and
// `close` would be known everywhere, and Node's own types of bodies and keys would no longer fit.
export declare const fetch: typeof globalThis.fetch;
export declare const Response: typeof globalThis.Response;
export declare const URLPattern: unknown;
export declare function createFetch(): {
  fetch: typeof globalThis.fetch;
  Request: typeof globalThis.Request;
  Response: typeof globalThis.Response;
  Headers: typeof globalThis.Headers;
  URL: typeof globalThis.URL;
  URLSearchParams: typeof globalThis.URLSearchParams;
};
