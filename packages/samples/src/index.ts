export {
  SAMPLE_SERVERS,
  type SampleServer,
  type Samples,
  type SamplesOptions,
  startSamples,
} from './start-samples.ts';
