export { EditorApprovals } from './editor-approvals.ts';
export { EditorFace, type EditorFaceOptions } from './editor-face.ts';
export { type ServedEditor, serveEditor } from './serve-editor.ts';
