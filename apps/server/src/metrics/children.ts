/** The child of a metric for given labels, cached: looking it up each time costs more than counting. */
export function remembered<Child>(make: (...labels: string[]) => Child) {
  const byKey = new Map<string, Child>();
  return (...labels: string[]): Child => {
    const key = labels.join('\u0000');
    let child = byKey.get(key);
    if (child === undefined) {
      child = make(...labels);
      byKey.set(key, child);
    }
    return child;
  };
}
