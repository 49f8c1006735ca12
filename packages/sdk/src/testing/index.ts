export type {
  FakeAnswer,
  FakeApi,
  FakeCall,
  FakeFailure,
  FakeFinish,
  FakeGarbage,
  FakeMessage,
  FakeMessagePart,
  FakePart,
  FakeReply,
  FakeRequest,
  FakeScript,
  FakeStoreRequest,
  FakeTool,
  FakeUsage,
} from './fake-api.ts';
export {
  FAKE_APIS,
  type FakeApiName,
  type FakeModel,
  type FakeModelOptions,
  startFakeModel,
} from './fake-model.ts';
export {
  type OpenSubject,
  type ProviderFeatures,
  type ProviderSubject,
  providerContract,
} from './provider-contract.ts';
