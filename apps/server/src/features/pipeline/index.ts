import { PIPELINE_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';

/** The command pipeline: what devices are told to do and what becomes of it. It knows only the database and the bus. */
export const pipeline: CreateFeature = () => ({ name: 'pipeline', errors: PIPELINE_ERRORS, routes: [] });
