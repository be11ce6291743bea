-- SPDX-License-Identifier: Apache-2.0
-- A script that filters as it should, unless the URI tells it to misbehave.

local function deeper(depth)
    return 1 + deeper(depth + 1)
end

local misbehave = {
    ["/error"] = function() error("told to fail") end,
    ["/error-without-words"] = function() error({}) end,
    ["/nil"] = function() return nil end,
    ["/number"] = function() return 1 end,
    ["/recurse"] = function() return deeper(0) end,
    ["/files"] = function() return io.open("/etc/passwd") end,
    ["/bytecode"] = function() return loadstring("return true")() end,
}

return function(prefix)
    return function(uri)
        local act = misbehave[uri]
        if act then
            return act()
        end
        return string.sub(uri, 1, #prefix) == prefix
    end
end
