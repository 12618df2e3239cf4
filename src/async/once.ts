/** Returns a function that calls `make` the first time it is called, and returns that same value ever after. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
