// node pack.mjs NODE_MODULES plain|meshopt-quantize|meshopt-filter|draco|draco-sequential SOURCE TARGET
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , folder, way, source, target] = process.argv;
const require = createRequire(pathToFileURL(folder + '/'));
const { NodeIO } = require('@gltf-transform/core');
const { ALL_EXTENSIONS, EXTMeshoptCompression, KHRDracoMeshCompression } = require('@gltf-transform/extensions');
const { MeshoptDecoder, MeshoptEncoder } = await import(pathToFileURL(folder + '/meshoptimizer/index.js'));
const draco = require('draco3dgltf');

await MeshoptEncoder.ready;
const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({
  'meshopt.decoder': MeshoptDecoder,
  'meshopt.encoder': MeshoptEncoder,
  'draco3d.decoder': await draco.createDecoderModule(),
  'draco3d.encoder': await draco.createEncoderModule(),
});
const file = await io.read(source);
const names = ['EXT_meshopt_compression', 'KHR_draco_mesh_compression'];
file.getRoot().listExtensionsUsed().filter((used) => names.includes(used.extensionName)).forEach((used) => used.dispose());
if (way.startsWith('meshopt')) {
  const method = way.endsWith('filter') ? 'filter' : 'quantize';
  file.createExtension(EXTMeshoptCompression).setRequired(true).setEncoderOptions({ method });
} else if (way.startsWith('draco')) {
  const method = way === 'draco' ? 1 : 0;
  file.createExtension(KHRDracoMeshCompression).setRequired(true).setEncoderOptions({ method });
}
await io.write(target, file);
