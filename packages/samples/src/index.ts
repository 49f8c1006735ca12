export { type Samples, startSamples } from './start-samples.ts';
