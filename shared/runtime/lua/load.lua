-- Reads rows for somebody who decides nothing, of the generation that readers should see: the one in use, once it has reached
-- the fence at which the one before it ended, and until then the one before it. So no reader sees a gap or a step back.
-- The keys of all generations of a partition lie in one hash slot, also those that are made here.
--
-- KEYS[1]  the generations: a hash, see generations.lua
-- ARGV[1]  the part of the keys in braces, braces included
-- ARGV[2..] the rows
-- returns  the JSON of each, or nil

local found = redis.call('HMGET', KEYS[1], 'inUse', 'previous', 'upTo')
local generation = found[1] or '1'
if found[2] then
  local fence = redis.call('HGET', 'sb:' .. generation .. ':' .. ARGV[1] .. ':position', 'fence') or '-1'
  if tonumber(fence) < tonumber(found[3]) then generation = found[2] end
end

local rows = {}
for index = 2, #ARGV do
  rows[index - 1] = redis.call('GET', 'sb:' .. generation .. ':' .. ARGV[1] .. ':' .. ARGV[index])
end
return rows
