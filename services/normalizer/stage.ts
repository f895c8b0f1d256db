import { providers } from '../../shared/providers/index.ts';
import { normalizer } from './normalizer.ts';

export const stage = normalizer(providers);
