import { z } from 'zod';

/** Of any form: what is no id of ours is as unknown as one of another principal. */
export const jobIdSchema = z.string().max(4_096).describe('What fabric.call with async answered');
