export { EditorApprovals } from './editor-access.ts';
export {
  EditorFace,
  type EditorFaceOptions,
  type ServedEditor,
  serveEditor,
} from './editor-face.ts';
export type { OpenFor } from './workspaces.ts';
