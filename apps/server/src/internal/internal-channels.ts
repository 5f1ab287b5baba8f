/**
 * Channels of actions that the server creates for itself: messages between its parts, callbacks, deliveries of
 * webhooks. Reads of what users queued leave them out. Each part adds its own.
 */
export class InternalChannels {
  readonly #channels = new Set<string>();

  add(channel: string): void {
    this.#channels.add(channel);
  }

  get all(): readonly string[] {
    return [...this.#channels];
  }
}
