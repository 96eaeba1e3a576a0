# Fills Redmine with a public project, a private one, a member of both, and a file; prints the member's API key and the file's number.

# Mails would be sent by threads beside, which hold SQLite's lock.
ActiveJob::Base.queue_adapter = :inline
Setting.notified_events = []
{ 'rest_api_enabled' => '1', 'app_title' => 'Harbour', 'default_language' => 'en' }.each { |name, value| Setting[name] = value }
ann = User.new(firstname: 'Ann', lastname: 'Pier', mail: 'ann@harbour.example', language: 'en')
ann.login = 'ann'
ann.password = ann.password_confirmation = ENV.fetch('PASSWORD')
ann.save!

def project(name, member, is_public)
  project = Project.create!(name: name, identifier: name.downcase, description: 'Boats, piers and fees. 港', is_public: is_public)
  project.trackers = Tracker.all
  project.save!
  Member.create!(project: project, principal: member, roles: [Role.givable.first])
  project
end

def issue(project, author, subject)
  Issue.create!(project: project, tracker: Tracker.first, author: author, subject: subject, description: 'See the plan. 舟',
                priority: IssuePriority.first, status: IssueStatus.first)
end

harbour = project('Harbour', ann, true)
issues = 60.times.map { |number| issue(harbour, ann, "Berth #{number} leaks") }
issue(project('Safe', ann, false), ann, 'The code is 4711')
News.create!(project: harbour, author: ann, title: 'The pier is open', description: 'From dawn to dusk.')
plan = Attachment.create!(file: StringIO.new('the plan of the pier'), filename: 'plan.txt', content_type: 'text/plain', author: ann, container: issues.first)
puts "key #{ann.api_key}", "file #{plan.id}"
