/** What may be told of something that was thrown: its kind and the place, never its message, which may quote what was read. */
export function thrownOf(error: unknown): { readonly error: string; readonly where: string } {
  const frame = error instanceof Error ? /\n\s+at ([^\n]+)/.exec(error.stack ?? '') : null;
  return {
    error: error instanceof Error ? error.name : typeof error,
    where: (frame?.[1] ?? 'unknown').replace(/(file:\/\/)?\/\S*\/(?=(services|shared|schemas|test)\/)/, ''),
  };
}
