import { busContract } from '../../testing/bus-contract.ts';
import { schemaRegistryContract } from '../../testing/schema-registry-contract.ts';
import { storeContract } from '../../testing/store-contract.ts';
import { createEmbeddedInfrastructure } from './embedded.ts';

const infrastructure = createEmbeddedInfrastructure();

busContract('in memory', { connect: async () => infrastructure.bus(), now: Date.now });
storeContract('in memory', async () => infrastructure.store());
schemaRegistryContract('in memory', async () => infrastructure.registry());
