-- Requests for the paths in a file, one after the other, and then from its beginning again. The texts are made before the round starts.
local requests = {}
local next = 0

function init(arguments)
  for path in io.lines(arguments[1]) do
    requests[#requests + 1] = "GET " .. path .. " HTTP/1.1\r\nHost: bench.test\r\n\r\n"
  end
  next = tonumber(arguments[2])
end

function request()
  next = next % #requests + 1
  return requests[next]
end
