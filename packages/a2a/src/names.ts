// Our keys in the metadata of A2A messages and tasks.

/** In a message: which capability is asked for. */
export const META_CAPABILITY = 'io.starloom/capability';
/** The same as clients of ours write it: A2A itself has no place for the skill that is meant. */
export const META_SKILL = 'io.starloom/skill';
/** In a message: what the task may use, `{steps?, tokens?, seconds?, money?}`. */
export const META_BUDGET = 'io.starloom/budget';
/** In a message: answers to the questions of a task, `[{id, response}]`. */
export const META_INPUTS = 'io.starloom/inputs';
/** In a message that answers: `accept` (the default), `decline` or `cancel`. */
export const META_ACTION = 'io.starloom/action';
/** In a task: agent, capability, trace and progress, spelled as A2A spells fields. */
export const META_CALL = 'io.starloom/call';
/** In updates that A2A has no form for: the event as it is. */
export const META_EVENT = 'io.starloom/event';
/** In the artifact with the answer. */
export const META_CITATIONS = 'io.starloom/citations';
/** In the result of an agent: "message" asks for a message in place of a task. */
export const META_REPLY = 'io.starloom/reply';
/** In the context of a call: what the agent may know of the message. */
export const CONTEXT_KEY = 'io.starloom/a2a';

/** Extension of cards. Parameters: `{<skill id>: {inputSchema?, outputSchema?}}`. */
export const SCHEMAS_EXTENSION = 'https://starloom.dev/a2a/capability-schemas/v1';

/** Of a job: the context that its task belongs to. */
export const LABEL_CONTEXT = 'a2a_context';

/** The artifact that has the agent's answer. */
export const ANSWER = 'starloom.answer';

/** The gateway itself, in the place of an agent; no agent may be named so. */
export const OWN_ID = 'fabric';

/** Of the card of an agent, below its address. */
export const CARD_PATH = '/.well-known/agent-card.json';

/** The version of clients that name none. */
export const LEGACY = '0.3';
