// Runs a Lua script as Argo CD does: the object is the global `obj`, what it returns is the verdict.
import { lauxlib, lua, lualib, to_jsstring, to_luastring } from 'fengari';

type Verdict = { readonly status: string; readonly message: string | undefined };

export function healthOf(script: string, object: object): Verdict {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  push(state, object);
  lua.lua_setglobal(state, to_luastring('obj'));
  if (lauxlib.luaL_dostring(state, to_luastring(script))) throw new Error(to_jsstring(lua.lua_tostring(state, -1)));
  const field = (name: string): string | undefined => {
    lua.lua_getfield(state, -1, to_luastring(name));
    const text = lua.lua_isnil(state, -1) ? undefined : to_jsstring(lua.lua_tostring(state, -1));
    lua.lua_pop(state, 1);
    return text;
  };
  return { status: field('status') ?? '', message: field('message') };
}

function push(state: lua.State, value: unknown): void {
  if (typeof value === 'string') lua.lua_pushstring(state, to_luastring(value));
  else if (typeof value === 'number') lua.lua_pushinteger(state, value);
  else if (typeof value === 'object' && value !== null) {
    lua.lua_newtable(state);
    for (const [key, inner] of Object.entries(value)) {
      push(state, inner);
      if (Array.isArray(value)) lua.lua_rawseti(state, -2, Number(key) + 1);
      else lua.lua_setfield(state, -2, to_luastring(key));
    }
  } else lua.lua_pushnil(state);
}
