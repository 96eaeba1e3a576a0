-- Each tenth request is one of a member, all others come without a cookie. Arguments: the members' cookies.
local requests, members, count = {}, {}, 0

function init(arguments)
    requests.anonymous = wrk.format("GET")
    for number, cookie in ipairs(arguments) do
        members[number] = wrk.format("GET", nil, { ["Host"] = wrk.headers["Host"], ["Cookie"] = cookie })
    end
end

function request()
    count = count + 1
    if count % 10 == 0 then
        return members[(count / 10) % #members + 1]
    end
    return requests.anonymous
end
