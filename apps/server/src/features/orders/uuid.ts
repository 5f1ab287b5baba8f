const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A text that is not a UUID is an unknown id. */
export const isUuid = (text: string) => UUID.test(text);

/** In the stored form: the holder of a lease is compared letter by letter. */
export const idOf = ({ id }: { readonly id: string }) => id.toLowerCase();
