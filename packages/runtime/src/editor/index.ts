export {
  EditorApprovals,
  EditorFace,
  type EditorFaceOptions,
  type ServedEditor,
  serveEditor,
} from './editor-face.ts';
