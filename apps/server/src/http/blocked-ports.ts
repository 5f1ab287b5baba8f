/**
 * Ports that browsers and fetch refuse to open because other protocols use them: the list of the Fetch standard, from
 * 1024 on. A page served there cannot be seen.
 */
const BLOCKED = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566],
  ...[6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
]);

export const isBlockedPort = (port: number): boolean => BLOCKED.has(port);
