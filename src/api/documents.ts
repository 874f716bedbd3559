// /v1/openapi.json and /v1/docs: what this interface is, for programs and for people. They need no credential.
import { docsPage, docsPolicy } from './docs.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiRoute, content, publicRoute } from './route.ts';

/** `allRoutes` is asked when a document is first wanted: these two rows are among them. */
export function documentRoutes(allRoutes: () => readonly ApiRoute[], version: string): readonly ApiRoute[] {
  const documents = { openApi: '', docs: '' };
  return [
    publicRoute({
      method: 'GET',
      path: '/v1/openapi.json',
      operationId: 'getOpenApiDocument',
      tag: 'Documents',
      summary: 'This interface as an OpenAPI document',
      replies: { 200: { description: 'OpenAPI 3.1.', mediaTypes: ['application/json'] } },
      handle: () => {
        documents.openApi ||= JSON.stringify(openApiDocument(allRoutes(), version));
        return content('application/json', documents.openApi);
      },
    }),
    publicRoute({
      method: 'GET',
      path: '/v1/docs',
      operationId: 'getDocs',
      tag: 'Documents',
      summary: 'This interface as a page to read',
      replies: { 200: { description: 'HTML.', mediaTypes: ['text/html'] } },
      handle: () => {
        documents.docs ||= docsPage(allRoutes(), version);
        return content('text/html; charset=utf-8', documents.docs, { 'Content-Security-Policy': docsPolicy });
      },
    }),
  ];
}
