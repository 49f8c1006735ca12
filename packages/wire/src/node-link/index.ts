export { fromLinkError, type LinkError, toLinkError } from './frames.ts';
export { type LinkChannel, NodeLink, type NodeLinkOptions } from './node-link.ts';
export { MAX_UNREAD_LENGTH, type OpenOptions, type ServedStream } from './streams.ts';
