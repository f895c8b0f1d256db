import { z } from 'zod';
import { countingPipeline } from './counting-pipeline.ts';

const Addresses = z.object({ kafkaBrokers: z.string(), redisUrl: z.string(), schemaRegistryUrl: z.string() });

// One copy of the counting stage in a process of its own, which a test can kill or freeze. It ends with its parent.
const pipeline = await countingPipeline(Addresses.parse(JSON.parse(process.argv[2] ?? '')));
const running = await pipeline.run();
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => void pipeline.close().then(() => process.exit(0)));
process.on('message', () => process.send?.(running.health().partitions));
await running.ended;
