export type { FakeApi } from './fake-api.ts';
export {
  FAKE_APIS,
  type FakeApiName,
  type FakeModel,
  type FakeModelOptions,
  startFakeModel,
} from './fake-model.ts';
export type { FakeMessage, FakeMessagePart, FakeRequest, FakeTool } from './fake-request.ts';
export type {
  FakeAnswer,
  FakeCall,
  FakeFailure,
  FakeFinish,
  FakeGarbage,
  FakePart,
  FakeReply,
  FakeScript,
  FakeUsage,
} from './fake-script.ts';
export {
  type OpenSubject,
  type ProviderFeatures,
  type ProviderSubject,
  providerContract,
} from './provider-contract.ts';
