# An application of Sinatra that says what it sees.
require 'json'
require 'sinatra/base'

class Who < Sinatra::Base
  get '/who' do
    headers 'Cache-Control' => 'no-store', 'Content-Type' => 'application/json'
    { address: request.ip, scheme: request.scheme }.to_json
  end
end

run Who
