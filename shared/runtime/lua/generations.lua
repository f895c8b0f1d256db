-- Reads which generations of a partition's state there are, after taking a step from one to the next. A step that does not
-- apply changes nothing. The keys of all generations of a partition lie in one hash slot, also those that are made here.
--
-- KEYS[1] the generations: a hash of
--           "inUse"    the one that owners write, 1 where absent
--           "draft"    the one that a rebuild writes
--           "previous" the one that was in use before, and "upTo" the fence that it ended at
--           "newest"   the highest number that was ever given
-- ARGV[1] the part of the keys in braces, braces included
-- ARGV[2] "", or a step: "begin", "adopt", "abandon" (ARGV[3]: the draft), or "conclude"
-- returns {inUse, draft, previous, upTo, newest}, "" for what is absent

local function generations()
  local found = redis.call('HMGET', KEYS[1], 'inUse', 'draft', 'previous', 'upTo', 'newest')
  for index = 1, 5 do found[index] = found[index] or '' end
  if found[1] == '' then found[1] = '1' end
  if found[5] == '' then found[5] = found[1] end
  return found
end

local function fence_of(generation)
  return redis.call('HGET', 'sb:' .. generation .. ':' .. ARGV[1] .. ':position', 'fence') or '-1'
end

local step, number = ARGV[2], ARGV[3]
local in_use, draft, previous, up_to, newest = unpack(generations())

if step == 'begin' and draft == '' and previous == '' and tonumber(number) > tonumber(newest) then
  redis.call('HSET', KEYS[1], 'inUse', in_use, 'draft', number, 'newest', number)
elseif step == 'adopt' and draft == number then
  redis.call('HSET', KEYS[1], 'inUse', number, 'previous', in_use, 'upTo', fence_of(in_use))
  redis.call('HDEL', KEYS[1], 'draft')
elseif step == 'abandon' and draft == number then
  redis.call('HDEL', KEYS[1], 'draft')
elseif step == 'conclude' and previous ~= '' and tonumber(fence_of(in_use)) >= tonumber(up_to) then
  redis.call('HDEL', KEYS[1], 'previous', 'upTo')
end

return generations()
