// Documents of the REST binding of 0.3 and those of 1.0, one as the other. The SDK has this only
// together with a web framework.

type Json = Readonly<Record<string, unknown>>;

/** A request to send, as 1.0 writes it. */
export function fromLegacySend(body: unknown): Json {
  const { message, request, configuration, metadata } = toJson(body);
  const sent = message ?? request;
  return {
    ...(sent !== undefined && { message: fromLegacyMessage(toJson(sent)) }),
    ...(configuration !== undefined && { configuration: fromConfiguration(toJson(configuration)) }),
    ...(metadata !== undefined && { metadata }),
  };
}

export function fromLegacyHook(body: unknown): Json {
  const { pushNotificationConfig, config } = toJson(body);
  const given = pushNotificationConfig ?? toJson(config).pushNotificationConfig;
  return fromHook(toJson(given));
}

export function toLegacyHook(hook: Json): Json {
  const { id = '', taskId, url, token, authentication } = hook;
  const { scheme, credentials } = toJson(authentication);
  const schemes = scheme === undefined ? undefined : { schemes: [scheme], credentials };
  return {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: { id, url, token, authentication: schemes },
  };
}

export function toLegacyTask(task: Json): Json {
  const { status, artifacts, history } = task;
  return {
    ...task,
    status: toLegacyStatus(toJson(status)),
    ...(artifacts !== undefined && { artifacts: toList(artifacts).map(toLegacyArtifact) }),
    ...(history !== undefined && { history: toList(history).map(toLegacyMessage) }),
  };
}

export function toLegacyMessage({ parts, ...message }: Json): Json {
  return { ...message, content: toList(parts).map(toLegacyPart) };
}

/** An item of a stream; the last status of a task says so. */
export function toLegacyItem(item: Json): Json {
  const { task, message, statusUpdate, artifactUpdate } = item;
  if (task !== undefined) return { task: toLegacyTask(toJson(task)) };
  if (message !== undefined) return { message: toLegacyMessage(toJson(message)) };
  if (artifactUpdate !== undefined) {
    const update = toJson(artifactUpdate);
    return { artifactUpdate: { ...update, artifact: toLegacyArtifact(toJson(update.artifact)) } };
  }
  const update = toJson(statusUpdate);
  const { state } = toJson(update.status);
  const final = FINAL_STATES.has(state);
  return { statusUpdate: { ...update, status: toLegacyStatus(toJson(update.status)), final } };
}

const FINAL_STATES: ReadonlySet<unknown> = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]);

function fromLegacyMessage({ content, parts, ...message }: Json): Json {
  return { ...message, parts: toList(content ?? parts).map(fromLegacyPart) };
}

function fromLegacyPart(part: Json): Json {
  const { file, data, metadata } = part;
  const about = { ...(metadata !== undefined && { metadata }) };
  if (data !== undefined) return { data: toJson(data).data ?? {}, ...about };
  if (file === undefined) return part;
  const { fileWithUri: url, fileWithBytes: raw, mimeType: mediaType, name } = toJson(file);
  const content = url === undefined ? { raw } : { url };
  return { ...content, mediaType, ...(name !== undefined && { filename: name }), ...about };
}

function fromConfiguration({ pushNotification, blocking, ...rest }: Json): Json {
  return {
    ...rest,
    // As the SDK reads it: a configuration that does not ask to wait does not wait.
    returnImmediately: blocking !== true,
    ...(pushNotification !== undefined && {
      taskPushNotificationConfig: fromHook(toJson(pushNotification)),
    }),
  };
}

function fromHook({ authentication, ...hook }: Json): Json {
  const { schemes, credentials } = toJson(authentication);
  const [scheme] = Array.isArray(schemes) ? schemes : [];
  return { ...hook, ...(scheme !== undefined && { authentication: { scheme, credentials } }) };
}

function toLegacyStatus({ state, message, ...status }: Json): Json {
  return {
    ...status,
    state: state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state,
    ...(message !== undefined && { message: toLegacyMessage(toJson(message)) }),
  };
}

function toLegacyArtifact({ parts, ...artifact }: Json): Json {
  return { ...artifact, parts: toList(parts).map(toLegacyPart) };
}

function toLegacyPart({ text, raw, url, data, mediaType, filename, metadata }: Json): Json {
  const about = { ...(metadata !== undefined && { metadata }) };
  if (text !== undefined) return { text, ...about };
  if (data !== undefined) return { data: { data }, ...about };
  const content = url === undefined ? { fileWithBytes: raw } : { fileWithUri: url };
  const file = {
    ...content,
    mimeType: mediaType,
    ...(filename !== undefined && { name: filename }),
  };
  return { file, ...about };
}

function toList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(toJson) : [];
}

export function toJson(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
