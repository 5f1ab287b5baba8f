const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What is none is the id of nothing. */
export const isUuid = (text: string) => UUID.test(text);

/** As it is kept: who holds a lease is compared letter by letter. */
export const idOf = ({ id }: { readonly id: string }) => id.toLowerCase();
