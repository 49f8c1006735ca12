export type {
  OpenSubject,
  ProviderFeatures,
  ProviderSubject,
} from './contract/provider-subject.ts';
export type {
  FakeAnswer,
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
  FakeService,
  FakeTool,
  FakeUsage,
} from './fake-script.ts';
export { providerContract } from './provider-contract.ts';
