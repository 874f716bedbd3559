// What a resource looks like at /v1, from its fields: replies where it stands alone and in lists, bodies to create and update.
import { type Fields, replyShape } from '../resources/field.ts';
import { type TSchema, Type } from '../schema/define.ts';
import { type BodyOptions, createBody, updateBody } from './body.ts';

/** A shape with a name of its own in the OpenAPI document. */
export const named = (title: string, schema: TSchema): TSchema => Type.Unsafe({ ...schema, title });

type Bodies = { readonly create?: BodyOptions; readonly update?: BodyOptions };

/** `title` is the name of the type in clients made from the OpenAPI document. */
export function resourceShapes<T extends Fields>(wrapper: string, title: string, fields: T, bodies: Bodies = {}) {
  const isShorterInLists = Object.values(fields).some(({ shown }) => shown === 'single');
  const single = named(title, replyShape(fields, 'single'));
  return {
    single,
    listed: isShorterInLists ? named(`${title}ListItem`, replyShape(fields, 'list')) : single,
    create: createBody(wrapper, title, fields, bodies.create),
    update: updateBody(wrapper, title, fields, bodies.update),
  };
}
