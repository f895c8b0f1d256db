import type { ASTNode } from '@marcbachmann/cel-js';

/**
 * What an expression can cost, read from its text. CEL always ends, but nested macros multiply: with these figures and
 * the size of the value it runs over, an upper bound of its work is known before it runs.
 */
export interface Shape {
  /** Nodes, and the steps that its regular expressions take for one character. */
  readonly weight: number;
  readonly macros: number;
  /** Members of the longest list or map in the text itself. */
  readonly widest: number;
  /** How often `+` stands there: each can lengthen a text or list by another. */
  readonly joins: number;
}

/** How `matches` is to be evaluated: under which name, and how heavy a pattern is. `weigh` may refuse one. */
export interface Matching {
  readonly functionName: string;
  readonly weigh: (pattern: string) => number;
}

const macroNames = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/** Each of these takes time in proportion to what it is given, and gives nothing longer back. */
const functionNames = new Set([
  ...['has', 'size', 'type', 'dyn', 'int', 'uint', 'double', 'string', 'bool', 'timestamp'],
  ...['startsWith', 'endsWith', 'contains', 'matches', 'lowerAscii', 'upperAscii', 'trim'],
  ...macroNames,
]);

/** Thrown while an expression is examined; `reason` is for its author. */
export class RefusedExpression extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super('the expression is refused');
    this.reason = reason;
  }
}

/**
 * Examines an expression and names its `matches` anew, so that it is evaluated by RE2 and not by an engine that can be
 * made to hang. Throws `RefusedExpression` for what no filter needs and whose cost has no bound.
 */
export function examine(root: ASTNode, matching: Matching): Shape {
  const found = { weight: 0, macros: 0, widest: 1, joins: 0 };

  const visitAll = (nodes: readonly ASTNode[], inMacro: boolean): void => {
    for (const node of nodes) visit(node, inMacro);
  };

  const visitCall = (name: string, args: readonly ASTNode[], inMacro: boolean): void => {
    if (!functionNames.has(name)) throw new RefusedExpression(`filters have no function ${name}`);
    const isMacro = macroNames.has(name);
    if (isMacro) found.macros++;
    visitAll(args, inMacro || isMacro);
  };

  const visit = (node: ASTNode, inMacro: boolean): void => {
    found.weight++;
    switch (node.op) {
      case 'value':
      case 'id':
        return;
      case '.':
      case '.?':
        visit(node.args[0], inMacro);
        return;
      case '!_':
      case '-_':
        visit(node.args, inMacro);
        return;
      case 'call':
        visitCall(node.args[0], node.args[1], inMacro);
        return;
      case 'rcall': {
        const [name, receiver, args] = node.args;
        visit(receiver, inMacro);
        visitCall(name, args, inMacro);
        if (name !== 'matches') return;
        const [pattern] = args;
        if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
          throw new RefusedExpression('the pattern of matches must be written in the filter');
        }
        found.weight += matching.weigh(pattern.args);
        Reflect.set(node.args, 0, matching.functionName);
        return;
      }
      case 'list':
        found.widest = Math.max(found.widest, node.args.length);
        visitAll(node.args, inMacro);
        return;
      case 'map':
        found.widest = Math.max(found.widest, node.args.length);
        visitAll(node.args.flat(), inMacro);
        return;
      case '+':
        // Inside a chain of macros it doubles with each of them.
        if (inMacro) throw new RefusedExpression('+ cannot be used inside a macro');
        found.joins++;
        visitAll(node.args, inMacro);
        return;
      case '[]':
      case '[?]':
      case '?:':
      case '||':
      case '&&':
      case '!=':
      case '==':
      case 'in':
      case '-':
      case '*':
      case '/':
      case '%':
      case '<':
      case '<=':
      case '>':
      case '>=':
        visitAll(node.args, inMacro);
        return;
    }
  };

  visit(root, false);
  return found;
}

/** An upper bound of the steps that an expression takes over a value. */
export function workOf(shape: Shape, textLength: number, value: unknown): number {
  const size = { total: textLength, longest: shape.widest };
  measure(value, size);
  const growth = 1 + shape.joins;
  return shape.weight * size.total * growth * (size.longest * growth) ** shape.macros;
}

function measure(value: unknown, size: { total: number; longest: number }): void {
  size.total++;
  if (typeof value === 'string') size.total += value.length;
  if (typeof value !== 'object' || value === null) return;
  let members = 0;
  // Over the members where they are: this runs for every fact, and lists of them are most of its cost.
  for (const name in value) {
    members++;
    measure(value[name as keyof typeof value], size);
  }
  size.longest = Math.max(size.longest, members);
}
