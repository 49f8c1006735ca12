// Property tests try the same values in every run, so that a failure is the change's own. Other values:
// FAST_CHECK_SEED=$RANDOM npm run unit.

import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED ?? 7_420) });
