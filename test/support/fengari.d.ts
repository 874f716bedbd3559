// The part of fengari that tests use; it brings no types.
declare module 'fengari' {
  type Text = Uint8Array;
  export namespace lua {
    type State = { readonly brand: 'lua_State' };
    function lua_setglobal(state: State, name: Text): void;
    function lua_getfield(state: State, index: number, name: Text): number;
    function lua_setfield(state: State, index: number, name: Text): void;
    function lua_rawseti(state: State, index: number, position: number): void;
    function lua_newtable(state: State): void;
    function lua_isnil(state: State, index: number): boolean;
    function lua_pop(state: State, count: number): void;
    function lua_pushnil(state: State): void;
    function lua_pushinteger(state: State, value: number): void;
    function lua_pushstring(state: State, text: Text): void;
    function lua_tostring(state: State, index: number): Text;
  }
  export namespace lauxlib {
    function luaL_newstate(): lua.State;
    /** True when it failed. */
    function luaL_dostring(state: lua.State, script: Text): boolean;
  }
  export namespace lualib {
    function luaL_openlibs(state: lua.State): void;
  }
  export function to_luastring(text: string): Text;
  export function to_jsstring(text: Text): string;
}
