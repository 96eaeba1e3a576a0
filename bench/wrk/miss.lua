-- Each request asks for a path that nobody asked for before: prefix, then a number that grows.
local prefix
local number = 0

function init(arguments)
  prefix = "GET " .. arguments[1]
end

function request()
  number = number + 1
  return prefix .. number .. " HTTP/1.1\r\nHost: bench.test\r\n\r\n"
end
