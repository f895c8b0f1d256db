/** The length of a text in characters: a sign beyond the basic plane is one. */
export function lengthOf(text: string | undefined): number {
  let length = 0;
  for (const _ of text ?? '') length++;
  return length;
}
