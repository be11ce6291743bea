-- SPDX-License-Identifier: Apache-2.0
-- The filter: a script that returns a function of the prefix, which returns the filter of a URI.

local sub = string.sub

return function(prefix)
    local length = #prefix
    return function(uri)
        return sub(uri, 1, length) == prefix
    end
end
