/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of filter_guest.h: a script in LuaJIT. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "filter_guest.h"

const char guest_name[] = "luajit";

/* A script as it was when nginx read its configuration: workers may not be able to open the file. */
struct script {
    char *text; /* NULL: none */
    size_t length;
    char name[4100];
};

/* The one that serves, and the one that a new configuration brings, while it is tried. */
static struct script script, candidate;

static lua_State *L;
static int filter = LUA_NOREF; /* the registry's reference to `ask` with the filter of the prefix */

/* A message ends with its Lua state; what is kept of it is this. */
static char reason[4400];

/* Why a protected call failed. */
static const char *
message(lua_State *state)
{
    bool text = lua_type(state, -1) == LUA_TSTRING;

    snprintf(reason, sizeof(reason), "%s", text ? lua_tostring(state, -1) : "an error without words");
    return reason;
}

/* LUA_MODULE_PATH, or the script that lies beside this library. */
static const char *
script_path(void)
{
    static char path[4096];
    Dl_info library;
    const char *given = getenv("LUA_MODULE_PATH");
    const char *slash;

    if (given != NULL) {
        return given;
    }
    if (dladdr(guest_name, &library) == 0 || (slash = strrchr(library.dli_fname, '/')) == NULL) {
        return "url_filter.lua";
    }
    snprintf(path, sizeof(path), "%.*s/url_filter.lua", (int) (slash - library.dli_fname),
             library.dli_fname);
    return path;
}

/* The whole file, allocated; NULL and errno. */
static char *
read_file(const char *path, size_t *length)
{
    char *text = NULL;
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        return NULL;
    }
    *length = 0;
    for (;;) {
        char *longer = realloc(text, *length + 65536);
        size_t found;

        if (longer == NULL) {
            break;
        }
        text = longer;
        found = fread(text + *length, 1, 65536, file);
        *length += found;
        if (found == 0) {
            break;
        }
    }
    if (ferror(file)) {
        int cause = errno;

        free(text);
        fclose(file);
        errno = cause;
        return NULL;
    }
    fclose(file);
    return text;
}

int
guest_load(guest_reason *why)
{
    const char *path = script_path();

    candidate.text = read_file(path, &candidate.length);
    if (candidate.text == NULL) {
        snprintf(reason, sizeof(reason),
                 "the script \"%s\" cannot be read (%s): set LUA_MODULE_PATH to a Lua source", path,
                 strerror(errno));
        *why = reason;
        return -1;
    }
    snprintf(candidate.name, sizeof(candidate.name), "@%s", path);
    return 0;
}

void
guest_settle(int keep)
{
    if (keep) {
        free(script.text);
        script = candidate;
    } else {
        free(candidate.text);
    }
    candidate.text = NULL;
}

/* In a protected call: the libraries that touch nothing but values, and the compiler; then the
 * script, whose function is left at the top of the stack. */
static int
set_up(lua_State *state)
{
    static const luaL_Reg libraries[] = {
        {"", luaopen_base}, {LUA_STRLIBNAME, luaopen_string}, {LUA_TABLIBNAME, luaopen_table},
        {LUA_MATHLIBNAME, luaopen_math}, {LUA_BITLIBNAME, luaopen_bit},
        {LUA_JITLIBNAME, luaopen_jit},
    };
    const struct script *source = candidate.text != NULL ? &candidate : &script;
    static const char *const files[] = {"dofile", "loadfile", "load", "loadstring", "print"};

    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        lua_pushcfunction(state, libraries[i].func);
        lua_pushstring(state, libraries[i].name);
        lua_call(state, 1, 0);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        lua_pushnil(state);
        lua_setglobal(state, files[i]);
    }
    /* "t": bytecode is not checked, and could do anything. */
    if (luaL_loadbufferx(state, source->text, source->length, source->name, "t") != 0) {
        return lua_error(state);
    }
    lua_call(state, 0, 1);
    if (!lua_isfunction(state, -1)) {
        return luaL_error(state, "the script returns a %s, expected a function of the prefix",
                          luaL_typename(state, -1));
    }
    lua_setfield(state, LUA_REGISTRYINDEX, guest_name);
    return 0;
}

int
guest_start(guest_reason *why)
{
    guest_stop();
    L = luaL_newstate();
    if (L == NULL) {
        *why = "no memory for a Lua state";
        return -1;
    }
    if (lua_cpcall(L, set_up, NULL) != 0) {
        *why = message(L);
        return -1;
    }
    return 0;
}

void
guest_stop(void)
{
    if (L != NULL) {
        lua_close(L);
        L = NULL;
        filter = LUA_NOREF;
    }
}

/* The bytes handed over and what came of them: static, since a protected call takes nothing else
 * without allocating, and every allocation may fail with an error. */
static struct {
    const void *bytes;
    size_t length;
    int answer;
} call;

/* In a protected call: asks the filter, which is this function's upvalue. */
static int
ask(lua_State *state)
{
    lua_pushvalue(state, lua_upvalueindex(1));
    lua_pushlstring(state, call.bytes, call.length);
    lua_call(state, 1, 1);
    if (!lua_isboolean(state, -1)) {
        return luaL_error(state, "the filter answers a %s, expected true or false",
                          luaL_typename(state, -1));
    }
    call.answer = lua_toboolean(state, -1);
    return 0;
}

/* In a protected call: has the script make the filter of a prefix. */
static int
bind(lua_State *state)
{
    lua_getfield(state, LUA_REGISTRYINDEX, guest_name);
    lua_pushlstring(state, call.bytes, call.length);
    lua_call(state, 1, 1);
    if (!lua_isfunction(state, -1)) {
        return luaL_error(state, "for the prefix the script returns a %s, expected a function",
                          luaL_typename(state, -1));
    }
    lua_pushcclosure(state, ask, 1);
    luaL_unref(state, LUA_REGISTRYINDEX, filter);
    filter = luaL_ref(state, LUA_REGISTRYINDEX);
    return 0;
}

int
guest_set_prefix(const void *prefix, size_t length, guest_reason *why)
{
    call.bytes = prefix;
    call.length = length;
    if (lua_cpcall(L, bind, NULL) != 0) {
        *why = message(L);
        return -1;
    }
    return 0;
}

int
guest_filter(const void *url, size_t length, guest_reason *why)
{
    call.bytes = url;
    call.length = length;
    lua_rawgeti(L, LUA_REGISTRYINDEX, filter);
    if (lua_pcall(L, 0, 0, 0) != 0) {
        *why = message(L);
        return -1;
    }
    return call.answer;
}
