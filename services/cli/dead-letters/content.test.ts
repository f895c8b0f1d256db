import { expect, test } from 'vitest';
import { contentOf, printable } from './content.ts';

test('content is read as far as it can be: a frame, a text, bytes, nothing', () => {
  const frame = (json: string) => Buffer.concat([Buffer.from([0, 0, 0, 1, 2]), Buffer.from(json)]);
  expect(contentOf(frame('{"a":1}'))).toEqual({ type: 'frame', schemaId: 258, value: { a: 1 } });
  expect(contentOf(frame('{"a":'))).toEqual({ type: 'text', text: '\0\0\0\u0001\u0002{"a":' });
  expect(contentOf(Buffer.from('{"a":1}'))).toEqual({ type: 'text', text: '{"a":1}' });
  expect(contentOf(Buffer.from([0xff, 0xfe]))).toEqual({ type: 'bytes', base64: '//4=' });
  expect(contentOf(undefined)).toEqual({ type: 'none' });
});

test('what would steer a terminal is written out, what is only text stays', () => {
  expect(printable('a\u001b[2Jb\u009bc\u202ed\r')).toBe('a\\u001b[2Jb\\u009bc\\u202ed\\u000d');
  expect(printable('Grüße,\n\t🚦')).toBe('Grüße,\n\t🚦');
});
