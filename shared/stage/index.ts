export * from './effects.ts';
export type { Message } from './message.ts';
export * from './stage.ts';
