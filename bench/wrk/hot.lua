-- Requests for prefix0 … prefix(n-1) in random order. The texts are made before the round starts. A third argument, `close`, asks for a
-- connection for each request.
local requests = {}
local count

function init(arguments)
  local prefix = arguments[1]
  count = tonumber(arguments[2])
  local connection = arguments[3] == "close" and "Connection: close\r\n" or ""
  for number = 0, count - 1 do
    requests[number + 1] = "GET " .. prefix .. number .. " HTTP/1.1\r\nHost: bench.test\r\n" .. connection .. "\r\n"
  end
  math.randomseed(1)
end

function request()
  return requests[math.random(count)]
end
